/** The rows that the server stores, as it returns them. */
export const stored = {
  about:
    "These are the server's rows, as it returns them to a member. It has the order, the sizes and the senders' devices, and no key.",
  record: "The conversation",
  log: "The log of messages",
  archives: "Your backups",
  status: "status",
  credential: "credential",
  devices: "Its members' devices",
  none: "None.",
  sum: (rows: number, bytes: string) => `${rows} rows · ${bytes} of ciphertext`,
  epoch: (number: string) => `epoch ${number}`,
  head: "newest row",
}
