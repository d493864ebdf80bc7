"""The systems of the paper's Table 3 as editors: AC-MLM's three selectors, and the two that retrieve of Li et al.

They are baselines, small and as their papers have them, with nothing tuned. All of them find the words of a text that
speak for its domain (`markers`, `attention`, `selectors`). AC-MLM masks these and has a masked LM of the target domain
fill the masks (`infilling`). Delete and retrieve takes words of a similar sentence instead (`retrieval`), which are put
there (`template`), or out of which and the rest a network writes a sentence (`generator`, `rewriting`).
"""
