"""Lists the users and sessions of a tenant with counts, now and as of a past time.

The tables are part of the tenant's search index (`streams.search.store`), which updates them in
the same transactions.
"""
