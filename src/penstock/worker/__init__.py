"""What runs in the Python workers, in the order of the data.

intake.py    rows come in: records from the source, decoded here, or rows that a Spark stage hands over
stretches.py which of a batch's rows are of which partition
crossing.py  the form in which rows go to Spark and come back
task.py      a segment of Arrow stages, as one task runs it
desk.py      the end: each sink takes its own
books.py     every record is counted, for its partition
letters.py   rejected records as rows of the dead-letter table
"""
