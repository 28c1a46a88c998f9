-- It keeps its tenant in the ring of the tier
first = lane.of.first or turn
lane.of.first, lane.of.size = first, lane.of.size + 1
