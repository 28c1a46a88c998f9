"""Jobs that are written in the application's own database transaction, and moved from there.

    application --INSERT, in its transaction--> queuepool_outbox --relay--> partitions

A row becomes a job if and only if its transaction commits, and then once:

    waiting --numbered--> numbered --`relay` enqueues the delivery--> enqueued --deleted--> gone

Invariants
  O1 a delivery is enqueued at most once: its number is committed in the database before it is sent,
     and the partition remembers the number in the step that stores the jobs. So a relay may be
     killed, or lose a reply, at any point, and repeat what it does not know.
  O2 a row is deleted only after its delivery was enqueued: nothing is lost.
  O3 one relay at a time numbers and sends, as it holds a lock of the database; one that was frozen,
     and goes on when another has taken over, repeats deliveries that are known by now.
  O4 a number is known by the partition for which it was given, and by no other: when slots move,
     what that partition does not know gets new numbers, for where the slots are now.
  O5 rows of a partition key are enqueued in the order in which they were inserted, as far as their
     transactions committed in that order.
  O6 a pool of a partition gets deliveries in the order of their numbers: none is sent while one
     before it waits. So if it does not know one, it knows none behind that.
  O7 rows of a key and a pool that have numbers and wait, wait for one partition. A delivery gets a
     new number in one transaction with all behind it, by O6 not enqueued either; and a row that has
     no number gets one for the partition for which those before it wait, wherever its slot is by
     now. So rows keep their order when the route changes during a look, or a relay dies.

Which partition that is, is stored with the number. Another one may know later numbers without ever
having had this delivery; and the ids of its jobs keep those out that went with the slots.
"""

from queuepool.client.outbox.outbox import Outbox

__all__ = ["Outbox"]
