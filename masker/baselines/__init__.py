"""The systems of the paper's Table 3 as editors: AC-MLM's three selectors, and the retrieval of Li et al.

They are baselines, small and as their papers have them, with nothing tuned. All of them find the words of a text that
speak for its domain (`markers`, `attention`, `selectors`). AC-MLM masks these and has a masked LM of the target domain
fill the masks (`infilling`); delete and retrieve puts words of a similar sentence there (`retrieval`, `template`).
"""
