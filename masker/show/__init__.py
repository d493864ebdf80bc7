"""How results look: a diff in the terminal and in a notebook, the paper's appendix table, and its Figure 1."""
