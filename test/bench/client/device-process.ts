// Starts one device of a bench as a process of its own.
import { fork } from "node:child_process"
import { join } from "node:path"
import type { Person } from "./people.ts"

export interface DeviceOrder {
  readonly task: "fill" | "export" | "restore" | "request" | "grant"
  readonly baseUrl: string
  readonly userId: string
  readonly accessToken: string
  readonly file: string
  /** In hexadecimal. */
  readonly rootKey: string
  readonly conversationId: string
  /** The number of entries. */
  readonly count: number
  readonly backupFile: string
}

export interface Cost {
  readonly ms: number
  readonly cpuMs: number
  /** The peak memory of the process before the work. */
  readonly beforeBytes: number
  readonly peakBytes: number
  /** What the work left in memory, after a garbage collection. */
  readonly keptBytes: number
}

export type DeviceReply =
  /** It waits for a text: a new access token, or what another device said. */
  | { readonly is: "renew" | "wait" }
  | { readonly is: "said"; readonly text: string }
  | { readonly is: "done"; readonly cost: Cost | undefined }

export interface RunningDevice {
  /** What it says to another device. */
  readonly said: Promise<string>
  /** What its work cost. */
  readonly cost: Promise<Cost | undefined>
}

/** @param hears What another device said to this one. */
export async function startDevice(
  { session, file, baseUrl, rootKey }: Person,
  rest: Pick<DeviceOrder, "task" | "conversationId" | "count" | "backupFile">,
  hears: Promise<string> = Promise.reject(new Error("nobody says anything")),
): Promise<RunningDevice> {
  hears.catch(() => undefined)
  const { userId } = session
  const order: DeviceOrder = {
    ...rest,
    ...{ baseUrl, userId, file, accessToken: await session.refresh(), rootKey: Buffer.from(rootKey).toString("hex") },
  }
  const child = fork(join(import.meta.dirname, "device-program.ts"), [JSON.stringify(order)], {
    execArgv: ["--expose-gc"],
  })
  const said = Promise.withResolvers<string>()
  const cost = Promise.withResolvers<Cost | undefined>()
  let reached: Cost | undefined
  const answer = (text: Promise<string>) =>
    void text.then(
      (one) => child.send(one),
      (error: unknown) => cost.reject(error),
    )
  child.on("message", (reply: DeviceReply) => {
    if (reply.is === "renew") answer(session.refresh())
    else if (reply.is === "wait") answer(hears)
    else if (reply.is === "said") said.resolve(reply.text)
    else if (reply.is === "done") reached = reply.cost
  })
  child.on("close", (code) => {
    const failure = new Error(`the device that had to ${rest.task} ended with ${code}`)
    said.reject(failure)
    if (code === 0) cost.resolve(reached)
    else cost.reject(failure)
  })
  // A task that says nothing is no failure.
  said.promise.catch(() => undefined)
  return { said: said.promise, cost: cost.promise }
}
