// A server in a process of its own, which tells the bench where it is and how much processor time it has taken.

export interface Started {
  /** A token request that is answered with a JWT, and one that asks about such a token. */
  readonly requests: Readonly<Record<string, FormRequest>>
}

export interface FormRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly form: Readonly<Record<string, string>>
}

/** Tells the parent process, and from then on answers each of its messages with the microseconds taken so far. */
export function serveMeasured(started: Started): void {
  const tell = (message: unknown) => process.send?.(message)
  process.on("message", () => {
    const { user, system } = process.cpuUsage()
    tell({ cpuMicros: user + system })
  })
  process.on("disconnect", () => process.exit(0))
  tell(started)
}

export const basic = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
})
