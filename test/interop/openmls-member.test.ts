// OpenMLS, called directly, as a member of conversations: with the real service, and members that run our messenger.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { isNightly } from "../support/effort.ts"
import { bytesOf, hexOf } from "../support/messaging/device-parts.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"
import { buildOpenMls, rustMissing } from "./openmls/build.ts"
import { type OpenMlsMember, openMlsMember } from "./openmls/member.ts"
import { type OpenMlsProgram, startOpenMls } from "./openmls/program.ts"

// A first build takes two minutes, and the stories a quarter of one.
const missing = isNightly ? rustMissing() : "npm run nightly runs it"

const utf8 = (text: string) => new TextEncoder().encode(text)
const textsIn = async ({ messenger }: { messenger: Messenger }, id: string) =>
  (await messenger.timeline(id)).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )

if (missing !== undefined) test.skip(`OpenMLS as a member: ${missing}`, () => {})
else
  describe("OpenMLS as a member", { timeout: 600_000 }, () => {
    let server: MessagingServer
    let messengers: Messengers
    const programs: OpenMlsProgram[] = []
    beforeAll(async () => {
      buildOpenMls()
      server = await startMessagingServer({ store: storyStore })
      messengers = messengersOn(server)
    }, 600_000)
    afterAll(async () => {
      for (const program of programs) program.end()
      await messengers?.close()
      await server?.close()
    })

    async function newcomer(name: string): Promise<OpenMlsMember> {
      const program = startOpenMls(buildOpenMls())
      programs.push(program)
      const member = await openMlsMember(messengers.transport, await server.person(name), program)
      await member.upload(3)
      return member
    }
    /** A group of both, in which both have said something. */
    async function inOneGroup(name: string): Promise<{ ann: OpenedMessenger; rust: OpenMlsMember; id: string }> {
      const ann = await messengers.newcomer(`ann ${name}`)
      const rust = await newcomer(`rust ${name}`)
      const { id } = await ann.messenger.createGroupConversation([rust.device.userId])
      await ann.messenger.send(id, utf8("hello"))
      expect(await rust.join()).toBe(id)
      await rust.follow()
      await rust.send("hello from OpenMLS")
      await ann.messenger.sync()
      return { ann, rust, id }
    }

    test("joins by Welcome, and both sides read each other's messages", async () => {
      const { ann, rust, id } = await inOneGroup("reads")
      expect(rust.texts).toEqual(["hello"])
      expect(await textsIn(ann, id)).toEqual(["hello", "hello from OpenMLS"])
    })

    test("commits new keys, an addition and a removal, which our messengers apply", async () => {
      const { ann, rust, id } = await inOneGroup("commits")
      await rust.update()
      const ben = await messengers.newcomer("ben of OpenMLS")
      await rust.add(ben.person.userId)
      for (const { messenger } of [ann, ben]) await messenger.sync()
      await ben.messenger.send(id, utf8("let in by OpenMLS"))
      await rust.follow()
      await rust.send("three of us")
      for (const { messenger } of [ann, ben]) await messenger.sync()
      expect(await textsIn(ann, id)).toEqual(["hello", "hello from OpenMLS", "let in by OpenMLS", "three of us"])
      expect(await textsIn(ben, id)).toEqual(["let in by OpenMLS", "three of us"])

      const bens = hexOf(bytesOf("dev", ben.messenger.deviceId))
      const credential = rust.at().members.find((member) => member.includes(bens)) ?? ""
      await rust.remove(ben.person.userId, Buffer.from(credential, "hex"))
      await rust.send("two of us")
      for (const { messenger } of [ann, ben]) await messenger.sync()
      expect((await textsIn(ann, id)).at(-1)).toBe("two of us")
      expect((await textsIn(ben, id)).at(-1)).toBe("three of us")
      expect((await ben.messenger.conversation(id))?.status).toBe("removed")
    })

    test("applies our commits, and detects its removal", async () => {
      const { ann, rust, id } = await inOneGroup("follows")
      const ben = await messengers.newcomer("ben comes and goes")
      await ann.messenger.refreshKeys(id)
      await ann.messenger.addMembers(id, [ben.person.userId])
      await rust.follow()
      expect(rust.at().members).toHaveLength(3)
      await ann.messenger.removeMembers(id, [ben.person.userId])
      await ann.messenger.send(id, utf8("again two"))
      await rust.follow()
      expect(rust.texts.at(-1)).toBe("again two")
      await ann.messenger.removeMembers(id, [rust.device.userId])
      await ann.messenger.send(id, utf8("not for everybody"))
      expect(rust.at().isMember).toBe(true)
      await rust.follow()
      expect(rust.at().isMember).toBe(false)
      expect(rust.texts).not.toContain("not for everybody")
    })
  })
