"""What a person looks at: pictures and videos of episodes, tables, and the HTML report. Only reads records and results."""
