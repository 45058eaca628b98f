// How long a conversation stands still: while a device rejoins, and after a commit that no other device can process.
import type { Messenger } from "@signet/client-node/messaging"
import { recoveryAfterBadCommit } from "../../simulation/stranded.ts"
import { quantiles } from "../messaging/measure.ts"

/** @param count The number of recoveries of each kind. @param helper A member that adds the device again. */
export async function recovering(helper: Messenger, device: Messenger, conversationId: string, count: number) {
  const controller = new AbortController()
  const runs = [helper, device].map((messenger) => messenger.run(controller.signal).catch(ignoreAbort(controller)))
  const rejoins: number[] = []
  for (let i = 0; i < count; i++) {
    const startedMs = performance.now()
    const back = nextActive(device, conversationId)
    await device.rejoin(conversationId)
    await back
    rejoins.push(performance.now() - startedMs)
  }
  controller.abort()
  await Promise.all(runs)
  const resets: number[] = []
  for (let seed = 1; seed <= count; seed++) resets.push((await recoveryAfterBadCommit(seed)).tookMs)
  return [
    { name: "a rejoin, with one member online", ...quantiles(rejoins) },
    { name: "a direct conversation after a bad commit, in simulated time", ...quantiles(resets) },
  ]
}

/** Resolves when the conversation is active after it was not. */
function nextActive(messenger: Messenger, conversationId: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let wasAway = false
  const end = messenger.subscribe((event) => {
    if (event.is !== "status" || event.conversationId !== conversationId) return
    if (event.status !== "active") wasAway = true
    else if (wasAway) resolve()
  })
  return promise.finally(end)
}

const ignoreAbort = ({ signal }: AbortController) => {
  return (error: unknown) => {
    if (!signal.aborted) console.error(error)
  }
}
