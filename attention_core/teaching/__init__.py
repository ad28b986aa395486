"""For classes: the exercise of selection and averaging, and a folder of submissions judged one by one.

- `selection`: queries and keys handed in as numbers, and their error
- `submissions`: whose file defines the function or class of the exercise
- `grading`: each submission put through the laws in a process of its own, with a limit; what is judged is kept
- `feedback`: a table of laws by person, and a page for each person
- `judge_submission`: what the process of one submission runs
"""
