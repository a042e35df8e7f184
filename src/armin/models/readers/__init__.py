"""From a fitted classifier of some library to plain arrays: one file for each library, which nothing else knows."""
