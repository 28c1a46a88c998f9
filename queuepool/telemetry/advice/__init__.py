"""What to change about the load of partitions and servers, from what was observed. Pure.

    Observed, look after look --loads.LoadHistory--> Loads --advising.advise--> Advice
        --advising.AdviceWatch: since when, for long enough?--> Advised

The doctor's rule about hot partitions asks the same `hot.hot_places`.
"""
