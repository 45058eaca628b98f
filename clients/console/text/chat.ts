import { t as frame, plural } from "./frame.ts"

export const t = {
  ...frame,
  chat: {
    title: "Encrypted chat",
    about: "Two people in two browsers. Only their devices can read what they write.",
    notHere:
      "The chat is part of the development profile. An app that people use has the issuer's root key built in, and never fetches it from a server.",
    opening: "Opening this browser's keys…",
    conversations: "Conversations",
    messages: "Messages",
    begin: "New conversation",
    people: "People",
    peopleHint: "One id begins a direct conversation, several begin a group.",
    none: "No conversation yet. Send your link to somebody, or begin with their id.",
    direct: "direct",
    group: (count: number) => `group of ${count}`,
    waiting: "waiting",
    onlyYou: "Only you",
    waitsFor: {
      keyPackages:
        "The other person has no device yet. What you write is stored here, and sent when they open the chat.",
      welcome: "A device of a member must add this browser. What you write is stored here, and sent afterwards.",
    },
    yourId: "Your id",
    copyLink: "Copy a link to write to you",
    linkCopied: "Link copied",
    message: "Message",
    send: "Send",
    attach: "Attach",
    chooseFile: "File",
    uploading: "Upload",
    file: "File",
    unsent: "stored here, not sent yet",
    bytes: (count: number) =>
      count < 1_000
        ? `${count} B`
        : count < 1_000_000
          ? `${(count / 1_000).toFixed(1)} kB`
          : `${(count / 1_000_000).toFixed(1)} MB`,
    membership: (added: string, removed: string) =>
      [added && `${added} joined`, removed && `${removed} left`].filter(Boolean).join("; ") || "Keys were renewed",
    newKeys: (people: string) => `New keys of ${people}: compare the safety number.`,
    reset: "The conversation continues in a new group: compare the safety number again.",
    missing: (count: number, from: string) => `${plural(count, "message", "messages")} of ${from} did not arrive.`,
    unreadable: (reason: string) => `A message cannot be decrypted (${reason}).`,
    gap: "This device was no member for a while, and cannot read what was written then.",
    beside: "Keys, and what the server stores",
    sides: { people: "People and keys", stored: "What the server stores" },
    keysChanged: "The keys have changed since you compared them. Compare the safety number before you write on.",
    safety: "Safety number",
    safetyAbout: "Compare this number over another channel, for example on the phone. It is the same on both sides.",
    same: "The numbers are the same",
    code: "Code for scanning",
    scan: "The other person's code",
    compare: "Compare",
    differs: "The code is not of these keys. Somebody may be in between: do not write on.",
    devicesOf: (count: number) => plural(count, "device", "devices"),
    compared: "compared",
    notCompared: "not compared",
    yourDevices: "Your devices",
    thisDevice: "This browser",
    revoke: "Revoke",
    revokeTitle: "Revoke this device?",
    revokeAbout: "The members of every conversation remove it. It reads nothing that is written from then on.",
    addPerson: "Add a person",
    add: "Add",
    epoch: (number: string) => `epoch ${number}`,
    storedAbout:
      "The rows of the log, as the server returns them to a member. The server has the order, the sizes and the senders' devices, and no key.",
  },
}
