// @signet/client-web/messaging/history: the history of a new device, in a browser.
export * from "@signet/client/messaging/history"
