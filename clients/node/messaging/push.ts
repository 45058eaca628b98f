// @signet/client-node/messaging/push: a webhook that the service calls for this device.
export * from "@signet/client/messaging/push"
