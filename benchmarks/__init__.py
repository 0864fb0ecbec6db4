"""What Surehand costs, beside LangGraph and beside the least that any program would have to do.

All contenders of a case run in one process, in turns, many times over; what is printed are medians, and ratios of the
same round, so that a machine that slows down slows all of them.
"""
