// In the page: two of ours and one on the bare engine with its own provider hold a conversation, and are timed.
import { utf8 } from "../../../clients/core/messaging/crypto/bytes.ts"
import { makeWebSuite } from "../../../clients/core/messaging/crypto/web-suite.ts"
import { openEngine } from "../../../clients/core/messaging/mls.ts"
import { bareSeat } from "../../../clients/core/messaging/testing/bare-seat.ts"
import { deviceOf, ourSeat, today } from "../../../clients/core/messaging/testing/our-seat.ts"
import { openRoom, type Seat } from "../../../clients/core/messaging/testing/seat.ts"

/** Milliseconds a message, of ours and of the bare engine, both read by the other. */
interface Timing {
  readonly members: number
  readonly ours: { readonly encrypt: number; readonly decrypt: number }
  readonly bare: { readonly encrypt: number; readonly decrypt: number }
}

declare global {
  interface Window {
    conversation: () => Promise<Timing>
  }
}

const messages = 50

async function timed(from: Seat, to: Seat): Promise<{ encrypt: number; decrypt: number }> {
  const sent: Uint8Array[] = []
  const start = performance.now()
  for (let i = 0; i < messages; i++) sent.push(await from.encrypt(`message ${i}`))
  const encrypted = performance.now()
  for (const message of sent) await to.decrypt(message)
  const decrypted = performance.now()
  return { encrypt: (encrypted - start) / messages, decrypt: (decrypted - encrypted) / messages }
}

window.conversation = async () => {
  const suite = await makeWebSuite()
  await openEngine({ suite, nowSeconds: () => today, deviceOf })
  const room = await openRoom(await ourSeat(suite, "A"), utf8("page"))
  await room.add("A", [await ourSeat(suite, "B"), await bareSeat("C"), await bareSeat("D")])
  for (const by of ["B", "C", "A"]) {
    await room.update(by)
    await room.say(by, `I am ${by}`)
  }
  const seat = (name: string) => room.seats.get(name) ?? Promise.reject(new Error("not here"))
  const [a, b, c, d] = [await seat("A"), await seat("B"), await seat("C"), await seat("D")]
  for (let i = 0; i < 3; i++) {
    await timed(a, b)
    await timed(c, d)
  }
  return { members: room.seats.size, ours: await timed(a, b), bare: await timed(c, d) }
}
