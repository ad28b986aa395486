"""For classes: the exercise of selection and averaging, checks of notebooks, and a folder of submissions judged.

- `selection`: queries and keys handed in as numbers, and their error
- `check_cells`: the checks of a notebook, each an answer that shows itself
- `common_mistakes`: wrong self-attentions by what is wrong with them
- `submissions`: whose file defines the function or class of the exercise
- `grading`: each submission put through the laws in a process of its own, with a limit; what is judged is kept
- `feedback`: a table of laws by person, and a page for each person
- `judge_submission`: what the process of one submission runs
"""
