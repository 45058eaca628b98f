// Connections that were handed to a worker which never accepted them: Node leaves them open when the worker ends, so their
// clients would wait until their own time limit.

import type { ChildProcess } from "node:child_process"
import type { Worker } from "node:cluster"

/** A message of node:cluster. Its handle is a connection if the worker gets a new one. */
interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/** Closes the connections that a worker has not accepted when it ends. */
export function closeUnaccepted({ process: child }: Pick<Worker, "process">): void {
  const open = new Map<number, { close(): void }>()
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  const watched = (...args: unknown[]): boolean => {
    const [message, handle] = args as [ClusterMessage, { close(): void } | undefined]
    if (message.act === "newconn" && message.seq !== undefined && handle) open.set(message.seq, handle)
    return send(...args)
  }
  Object.assign(child, { send: watched as ChildProcess["send"] })
  child.on("internalMessage", ({ cmd, ack }: ClusterMessage) => {
    if (cmd === "NODE_CLUSTER" && ack !== undefined) open.delete(ack)
  })
  child.once("exit", () => {
    for (const handle of open.values()) handle.close()
    open.clear()
  })
}
