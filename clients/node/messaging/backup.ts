// @signet/client-node/messaging/backup: encrypted backups in Node.
export * from "@signet/client/messaging/backup"
