"""The users and sessions of a history, with counts, now and as of a past time.

They are tables in the file of a tenant's search index (`streams.search.store`), which keeps them
up to date in the same transactions.
"""
