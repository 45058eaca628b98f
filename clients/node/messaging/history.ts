// @signet/client-node/messaging/history: the history of a new device, in Node.
export * from "@signet/client/messaging/history"
