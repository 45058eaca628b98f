// What leaves the core, and what is left of it: no token, key or secret of a group.
import { toBinary } from "@bufbuild/protobuf"
import type { Platform, Primitives, Value } from "@signet/client-native/wasm"
import { ClientEventSchema } from "@signet/proto/client/v1/messenger_service"
import { Primitive } from "@signet/proto/host/v1/host"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createTaint, type Taint } from "../../clients/react-native/testing/taint.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type CoreMember, coreTexts, type NativeCores, nativeCoresOn } from "../support/messaging/native-cores.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let cores: NativeCores
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  cores = await nativeCoresOn(server)
})
afterAll(async () => {
  await cores?.close()
  await server?.close()
})

type Recorded = Readonly<Record<number, string>>

/** Primitives that take a secret as their first argument, and those that return one. */
const taken: Recorded = {
  [Primitive.HMAC_SHA256]: "a key of HMAC",
  [Primitive.HKDF_EXPAND]: "a key of HKDF",
  [Primitive.AES_GCM_SEAL]: "a key of AES",
  [Primitive.AES_GCM_OPEN]: "a key of AES",
  [Primitive.X25519_PUBLIC]: "a private key",
  [Primitive.X25519]: "a private key",
}
const returned: Recorded = { [Primitive.HKDF_EXPAND]: "an expanded secret", [Primitive.X25519]: "a shared secret" }
const token = /eyJ[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/g

/** The platform, with every secret that the core uses recorded, and the tokens of its answers. */
function tainted(platform: Platform, taint: Taint): Platform {
  const primitives: Primitives = Object.fromEntries(
    Object.entries(platform.primitives).map(([number, call]) => [
      number,
      (...args: readonly Value[]): Value => {
        const [first] = args
        const into = taken[Number(number)]
        if (into !== undefined && first instanceof Uint8Array) taint.add(into, first)
        const made = call?.(...args)
        const out = returned[Number(number)]
        if (out !== undefined && made instanceof Uint8Array) taint.add(out, made)
        return made
      },
    ]),
  )
  return {
    ...platform,
    primitives,
    async perform(effect, performing) {
      const result = await platform.perform(effect, performing)
      if (result.case === "http") {
        const body = Buffer.from(result.value.body).toString("latin1")
        for (const [found] of body.matchAll(token)) taint.add("an access token", found)
      }
      return result
    },
  }
}

interface Watched {
  readonly member: CoreMember
  readonly taint: Taint
  /** Replies, as base64. */
  readonly replies: string[]
}

async function watched(subject: string): Promise<Watched> {
  const taint = createTaint()
  const replies: string[] = []
  const member = await cores.newcomer(subject, { around: (platform) => tainted(platform, taint), replies })
  return { member, taint, replies }
}

test.runIf(isLong)(
  "no token, key or secret of a group is in a reply, an event or the log, and none in the closed core's memory",
  async () => {
    const [ann, ben] = [await watched("ann who is watched"), await watched("ben who is watched")]
    const { conversation } = await ann.member.messenger.createDirectConversation({ peerUserId: ben.member.userId })
    const { id: conversationId = "" } = conversation ?? {}
    const words = "a plaintext that is planted here"
    await ann.member.messenger.send({ conversationId, plaintext: new TextEncoder().encode(words) })
    await ann.member.messenger.refreshKeys({ conversationId })
    await ben.member.messenger.sync()
    expect(await coreTexts(ben.member, conversationId)).toEqual([words])
    await ben.member.messenger.getVerification({ userId: ann.member.userId })

    for (const { member, taint, replies } of [ann, ben]) {
      const events = member.events.map((event) => Buffer.from(toBinary(ClientEventSchema, event)).toString("base64"))
      const transcript = [...replies, ...events, ...member.lines].join("\n")
      const planted = createTaint()
      planted.add("the plaintext", words)
      expect(planted.in(transcript)).toEqual(["the plaintext"])
      expect(taint.count).toBeGreaterThan(400)
      expect(taint.in(transcript)).toEqual([])
      // The open core has its tokens in memory, so a search finds what is there.
      const tokens = taint.secrets.filter(({ name }) => name === "an access token")
      const open = Buffer.from(member.core.memory())
      expect(tokens.some(({ bytes }) => open.includes(Buffer.from(bytes)))).toBe(true)
      await member.core.close()
      const closed = member.core.memory()
      expect(closed.length).toBe(open.length)
      expect(Buffer.compare(closed, new Uint8Array(open.length))).toBe(0)
    }
  },
)

test.runIf(isLong)("a core that leaks a key in a reply is detected", async () => {
  const { member, taint, replies } = await watched("eve who is watched")
  expect(taint.in(replies.join("\n"))).toEqual([])
  const [secret] = taint.secrets.filter(({ name }) => name === "a private key")
  replies.push(Buffer.from(secret?.bytes ?? []).toString("base64"))
  expect(taint.in(replies.join("\n"))).toEqual(["a private key"])
  await member.core.close()
})
