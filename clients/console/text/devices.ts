import { plural } from "./frame.ts"

export const t = {
  title: "Messaging devices",
  none: "No messaging device here.",
  place: "Devices of",
  wholeApp: "The app, without a tenant",
  device: "Device",
  unnamed: "Unnamed device",
  status: "Status",
  registered: "Registered",
  expires: "Credential expires",
  revoked: "Revoked",
  end: "Revoke",
  endTitle: "Revoke this device permanently?",
  endAbout: (name: string) =>
    `1 device ends: “${name}” can never send or read messages again. Its sessions end, and it is removed from every conversation.`,
  endAll: "Revoke all devices",
  endAllTitle: "Revoke all devices permanently?",
  endAllAbout: (count: number, hasMore: boolean) =>
    `${hasMore ? "At least " : ""}${plural(count, "device ends", "devices end")}, with their sessions and their places in conversations. The person loses messages that no backup has.`,
}
