"""What people use today, on complete rows, beside ``explain``: each peer a function from a cell and rows to plans."""
