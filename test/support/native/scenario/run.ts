// Runs the steps of scenario.json: the devices of one platform, and the other users' devices in Node.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import type { Deployment } from "../../edge-server.ts"
import type { LosingProxy } from "../../losing-proxy.ts"
import type { Messengers } from "../../messaging/messengers.ts"
import type { Device, DeviceOptions, PeerClient, StepName } from "./client.ts"
import { stepOf } from "./client.ts"
import { scenarioInNode } from "./node-messenger.ts"

/** One line of the file. Its other fields are those of its action. */
export type Line = { readonly by: string; readonly do: string; readonly fails?: string } & Readonly<
  Record<string, unknown>
>

const story = join(import.meta.dirname, "../../../native/scenario.json")
export const scenarioLines: readonly Line[] = JSON.parse(readFileSync(story, "utf8")).story

interface World {
  readonly server: Deployment
  readonly messengers: Messengers
  readonly proxy: LosingProxy
  readonly folder: string
  /** Makes the users' names unique. */
  readonly name: string
  readonly start: (options: DeviceOptions) => Promise<Device>
}

interface Stored {
  readonly path: string
  /** A message's number, or a recovery key. */
  readonly key: string
  readonly conversation?: string
}

export interface Scenario {
  run(line: Line): Promise<void>
  /** The steps that the devices of the platform have run. */
  readonly performed: ReadonlySet<StepName>
  close(): Promise<void>
}

const peers = ["ben", "cyd"]

export async function startScenario({
  server,
  messengers,
  proxy,
  folder,
  name: platform,
  start,
}: World): Promise<Scenario> {
  const devices = new Map<string, Device>()
  const others = new Map<string, PeerClient>()
  const userOf = new Map<string, string>()
  const deviceIds = new Map<string, string>()
  const conversations = new Map<string, string>()
  const stored = new Map<string, Stored>()
  const performed = new Set<StepName>()
  for (const name of peers) {
    const { messenger, person } = await messengers.newcomer(`${name} beside ${platform}`)
    others.set(name, scenarioInNode(messenger))
    userOf.set(name, person.userId)
  }
  const found = <Value>(map: ReadonlyMap<string, Value>, name: unknown): Value =>
    map.get(String(name)) ?? expect.fail(`the scenario has no "${String(name)}"`)
  const subjects = new Map<string, string>()
  const user = (name: unknown) => found(userOf, subjects.get(String(name)) ?? name)
  const path = (name: string) => join(folder, name.replaceAll(" ", "-"))

  const startDevice = async (name: string) =>
    devices.set(
      name,
      await start({
        ...{ folder: path(name), appId: server.app.id, authUrl: server.url, messagingUrl: proxy.url },
        ...{ audience: server.audience, rootKey: Buffer.from(server.issuerRootKey).toString("hex") },
      }),
    )

  async function step(by: string, name: StepName, ...args: string[]): Promise<unknown> {
    const peer = others.get(by)
    if (peer !== undefined) return stepOf(peer, name, args)
    performed.add(name)
    return found(devices, by).step(name, args)
  }

  const actions: Readonly<Record<string, (line: Line) => Promise<unknown>>> = {
    async signIn({ by, user: subject }) {
      await startDevice(by)
      const { credential, nonce = "" } = await server.login(`${String(subject)} on ${platform}`)
      const id = await step(by, "signIn", nonce, credential?.case === "idToken" ? credential.value : "")
      expect(id).toMatch(/^prn_/)
      expect(userOf.get(String(subject)) ?? id).toBe(id)
      userOf.set(String(subject), String(id))
      subjects.set(by, String(subject))
    },
    async openMessenger({ by }) {
      const id = String(await step(by, "openMessenger"))
      expect(id).toMatch(/^dev_/)
      // The same device after a restart.
      expect(deviceIds.get(by) ?? id).toBe(id)
      expect([...deviceIds].filter(([name, other]) => name !== by && other === id)).toEqual([])
      deviceIds.set(by, id)
    },
    createDirect: async ({ by, with: peer, as }) =>
      conversations.set(String(as), String(await step(by, "createDirect", user(peer)))),
    createGroup: async ({ by, with: names, as }) =>
      conversations.set(String(as), String(await step(by, "createGroup", ...list(names).map(user)))),
    add: ({ by, to, user: name }) => step(by, "add", found(conversations, to), user(name)),
    remove: ({ by, from, user: name }) => step(by, "remove", found(conversations, from), user(name)),
    send: ({ by, in: place, text }) => step(by, "send", found(conversations, place), String(text)),
    sync: ({ by }) => step(by, "sync"),
    async read({ by, in: place, texts }) {
      expect(await step(by, "read", found(conversations, place))).toEqual(texts)
    },
    async members({ by, in: place, users }) {
      const ids = list(await step(by, "members", found(conversations, place)))
      expect(ids.toSorted()).toEqual(list(users).map(user).sort())
    },
    renewKeys: ({ by, in: place }) => step(by, "renewKeys", found(conversations, place)),
    async loseAnswers({ of }) {
      if (of === "nothing") expect(proxy.lost, "no answer was lost").toBeGreaterThan(0)
      proxy.losing = of === "nothing" ? undefined : String(of)
    },
    async restart({ by }) {
      await found(devices, by).kill()
      await startDevice(by)
    },
    lose: ({ by }) => found(devices, by).kill(),
    async sendFile({ by, in: place, size, as }) {
      const file = path(String(as))
      writeFileSync(file, Buffer.alloc(Number(size), "the content of a file, "))
      const conversation = found(conversations, place)
      const key = String(await step(by, "sendFile", conversation, file))
      expect(key).toMatch(/^\d+$/)
      stored.set(String(as), { path: file, key, conversation })
    },
    async saveFile({ by, file }) {
      const sent = found(stored, file)
      const saved = path(`${by} ${String(file)}`)
      await step(by, "saveFile", sent.conversation ?? "", sent.key, saved)
      expect(readFileSync(saved).equals(readFileSync(sent.path))).toBe(true)
    },
    async compareNumbers({ by, with: peer }) {
      const shown = String(await step(by, "safetyNumber", user(peer)))
      expect(shown).toMatch(/^(\d{5} ){11}\d{5}$/)
      expect(await step(String(peer), "safetyNumber", user(by))).toBe(shown)
      expect(await step(by, "markVerified", user(peer), shown)).toBe("verified")
    },
    async scan({ by, the: shows }) {
      const shown = String(await step(String(shows), "showQr", user(by)))
      expect(await step(by, "scan", user(shows), shown)).toBe("verified")
    },
    async moveHistory({ by, from }) {
      await step(String(from), "grantHistory", String(await step(by, "requestHistory")))
      await Promise.all([step(String(from), "runHistory"), step(by, "runHistory")])
    },
    async backUp({ by, as }) {
      const file = path(String(as))
      stored.set(String(as), { path: file, key: String(await step(by, "backUp", file)) })
    },
    async recover({ by, backup }) {
      const { path: file, key } = found(stored, backup)
      expect(Number(await step(by, "recover", file, key))).toBeGreaterThan(0)
    },
    signOut: ({ by }) => step(by, "signOut"),
  }

  return {
    performed,
    async run(line) {
      const action = actions[line.do] ?? expect.fail(`no action "${line.do}"`)
      const { fails } = line
      if (fails === undefined) await action(line)
      else await expect(action(line), JSON.stringify(line)).rejects.toMatchObject({ reason: fails })
    },
    async close() {
      for (const device of devices.values()) await device.kill()
    },
  }
}

const list = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
