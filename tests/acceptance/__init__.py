"""Real data as input records: dialogues, agent runs, reflections and a ledger of facts."""
