// @signet/client-web/messaging/backup: encrypted backups in a browser.
export * from "@signet/client/messaging/backup"
