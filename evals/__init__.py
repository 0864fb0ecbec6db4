"""How far a weak model gets with the tool layers of several frameworks.

The same tasks, made of plain Python functions, run on Surehand and its peers, against one local model behind one
loopback server. Judged is what happened: the effects that the tools recorded, and the final answer.
"""
