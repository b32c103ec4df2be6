DROP TABLE webhook_rejects;
