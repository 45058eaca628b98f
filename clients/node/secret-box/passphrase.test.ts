import { beforeEach, describe, expect, test } from "vitest"
import { isLong, sample } from "../../../test/support/effort.ts"
import type { ByteStorage, Lock, StoredBytes } from "../../core/ports.ts"
import { scopeText } from "../../core/sealed.ts"
import { createPassphraseBox, type KeyHolder } from "./passphrase.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const scope = { app: "app_1", user: "ada" }
// The weakest permitted parameters: these tests do not check strength.
const parameters = { memoryKiB: 19_456, passes: 2 }

interface Drawer extends ByteStorage {
  kept: StoredBytes | undefined
}

function drawer(): Drawer {
  let revisions = 0
  return {
    kept: undefined,
    async read() {
      return this.kept
    },
    async write(_, bytes, expected) {
      if (expected !== "any" && expected !== this.kept?.revision) return undefined
      this.kept = { revision: `${++revisions}`, bytes: Uint8Array.from(bytes) }
      return this.kept.revision
    },
    async remove() {
      throw new Error("nothing is ever removed")
    },
  }
}

let storage: Drawer
const lock: Lock = { run: (work) => work() }
const boxWith = (passphrase: string) =>
  createPassphraseBox({ storage, lock, passphrase: async () => passphrase, parameters })
const change = (edit: (file: { kdf: Record<string, unknown>; canary: string; format: number }) => void) => {
  const file = JSON.parse(textOf(storage.kept?.bytes ?? utf8("{}")))
  edit(file)
  storage.kept = { revision: "9", bytes: utf8(JSON.stringify(file)) }
}
beforeEach(() => {
  storage = drawer()
})

test.runIf(isLong)("sealed bytes open with the passphrase in any Unicode form, and with no other", async () => {
  const box = boxWith("caf\u00e9")
  await box.createKey(scope)
  const sealed = await box.seal(scope, "token", utf8("sgrt_1"))
  expect(textOf(await boxWith("cafe\u0301").open(scope, "token", sealed))).toBe("sgrt_1")
  const before = storage.kept
  const wrong = boxWith("cafe")
  for (const use of [
    () => wrong.open(scope, "token", sealed),
    () => wrong.createKey(scope),
    () => wrong.rotate(scope),
    () => wrong.destroy(scope),
  ]) {
    await expect(use()).rejects.toMatchObject({ name: "SecretBoxError", reason: "WRONG_PASSPHRASE" })
  }
  expect(storage.kept).toBe(before)
})

test.runIf(isLong)("after a wrong passphrase the next use prompts again", async () => {
  await boxWith("right").createKey(scope)
  const said = ["wrong", "right"]
  const box = createPassphraseBox({ storage, lock, passphrase: async () => said.shift() ?? "", parameters })
  await expect(box.seal(scope, "token", utf8("x"))).rejects.toMatchObject({ reason: "WRONG_PASSPHRASE" })
  await box.seal(scope, "token", utf8("x"))
})

describe("a holder", () => {
  /** Holds keys as the unlock agent does. */
  const holding = (found?: Uint8Array) => {
    const kept = new Map<string, Uint8Array>()
    const holder = {
      find: async (id: string) => (found ?? kept.get(id))?.slice(),
      hold: async (id: string, key: Uint8Array) => void kept.set(id, key.slice()),
    }
    return { kept, holder }
  }
  const boxOf = (holder: KeyHolder, said: string[]) =>
    createPassphraseBox({ storage, lock, passphrase: async () => said.shift() ?? "nothing", parameters, holder })

  test("gets the key after it was verified, and the next box does not prompt", async () => {
    const { kept, holder } = holding()
    const box = boxOf(holder, ["right"])
    await box.createKey(scope)
    expect([...kept.values()].map(({ length }) => length)).toEqual([32])
    const sealed = await box.seal(scope, "token", utf8("sgrt_1"))
    const nobody = ["asked"]
    expect(textOf(await boxOf(holder, nobody).open(scope, "token", sealed))).toBe("sgrt_1")
    expect(nobody).toEqual(["asked"])
  })

  test.runIf(isLong)("never gets the key of a wrong passphrase", async () => {
    await boxWith("right").createKey(scope)
    const { kept, holder } = holding()
    await expect(boxOf(holder, ["wrong"]).createKey(scope)).rejects.toMatchObject({ reason: "WRONG_PASSPHRASE" })
    expect(kept.size).toBe(0)
  })

  test.runIf(isLong)("with a wrong key is ignored: the passphrase decides", async () => {
    const { holder } = holding(new Uint8Array(32))
    await boxWith("right").createKey(scope)
    await boxOf(holder, ["right"]).seal(scope, "token", utf8("x"))
    await expect(boxOf(holder, ["wrong"]).seal(scope, "token", utf8("x"))).rejects.toMatchObject({
      reason: "WRONG_PASSPHRASE",
    })
  })
})

test.runIf(isLong)("the prompt receives whether the file exists", async () => {
  const asked: boolean[] = []
  const open = () => {
    const passphrase = async (isNew: boolean) => {
      asked.push(isNew)
      return "correct horse"
    }
    return createPassphraseBox({ storage, lock, passphrase, parameters })
  }
  await open().createKey(scope)
  await open().seal(scope, "token", utf8("sgrt_1"))
  expect(asked).toEqual([true, false])
})

test("the file contains neither key, passphrase nor plaintext", async () => {
  const box = boxWith("correct horse")
  await box.createKey(scope)
  const sealed = await box.seal(scope, "token", utf8("sgrt_1"))
  const file = textOf(storage.kept?.bytes ?? utf8(""))
  expect(Object.keys(JSON.parse(file)).sort()).toEqual(["canary", "entries", "format", "kdf"])
  for (const secret of ["correct horse", "sgrt_1"]) {
    expect(file).not.toContain(secret)
    expect(Buffer.from(sealed).toString("latin1")).not.toContain(secret)
  }
})

test.runIf(isLong)("a new file is stretched with 64 MiB, three passes and one lane", async () => {
  await createPassphraseBox({ storage, lock, passphrase: async () => "x" }).createKey(scope)
  const { kdf } = JSON.parse(textOf(storage.kept?.bytes ?? utf8("{}")))
  expect(kdf).toMatchObject({ memoryKiB: 65_536, passes: 3, lanes: 1 })
})

test.runIf(isLong)("after a rotation earlier bytes open, and after destroying none", async () => {
  const box = boxWith("x")
  await box.createKey(scope)
  const old = await box.seal(scope, "token", utf8("before"))
  await box.rotate(scope)
  expect(textOf(await box.open(scope, "token", old))).toBe("before")
  await box.destroy(scope)
  await box.createKey(scope)
  await expect(box.open(scope, "token", old)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
})

test.runIf(isLong)("of two concurrent key creations one wins", async () => {
  const made = await Promise.allSettled([boxWith("x").createKey(scope), boxWith("x").createKey(scope)])
  expect(made.filter(({ status }) => status === "rejected")).toHaveLength(1)
})

describe("sealed bytes", () => {
  test.each(
    sample<[string, { app: string; user?: string; tenant?: string; device?: string }, string, string]>(1, [
      ["of another user", { ...scope, user: "eve" }, "token", "WRONG_USER"],
      ["of another app", { ...scope, app: "app_2" }, "token", "WRONG_USER"],
      ["of a tenant where there was none", { ...scope, tenant: "ten_1" }, "token", "WRONG_USER"],
      ["of another device", { ...scope, device: "d" }, "token", "WRONG_USER"],
      ["for another purpose", scope, "state", "STATE_TAMPERED"],
    ]),
  )("%s do not open", async (_, other, purpose, reason) => {
    const box = boxWith("x")
    await box.createKey(scope)
    await box.createKey(other)
    const sealed = await box.seal(scope, "token", utf8("x"))
    await expect(box.open(other, purpose, sealed)).rejects.toMatchObject({ reason })
  })

  test("of another box do not open, and every changed byte is detected", async () => {
    const box = boxWith("x")
    await box.createKey(scope)
    const sealed = await box.seal(scope, "token", utf8("x"))
    const foreign = Uint8Array.from(sealed)
    foreign.set(utf8("PASSPHRASE"), 6)
    await expect(box.open(scope, "token", foreign)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
    const reasons = /^(STATE_TAMPERED|STATE_NEWER_VERSION|SECURE_STORE_CHANGED|WRONG_USER)$/
    for (let at = 0; at < sealed.length; at += 13) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      await expect(box.open(scope, "token", changed)).rejects.toMatchObject({ reason: expect.stringMatching(reasons) })
    }
    for (const cut of [0, 3, 20, sealed.length - 1]) {
      await expect(box.open(scope, "token", sealed.subarray(0, cut))).rejects.toMatchObject({
        reason: "STATE_TAMPERED",
      })
    }
  })
})

describe("a file that was changed", () => {
  test.each(
    sample<[string, Parameters<typeof change>[0], string]>(3, [
      ["to weaker parameters", (file) => Object.assign(file.kdf, { memoryKiB: 8 }), "STATE_TAMPERED"],
      ["to one pass", (file) => Object.assign(file.kdf, { passes: 1 }), "STATE_TAMPERED"],
      [
        "to parameters that would stall the machine",
        (file) => Object.assign(file.kdf, { memoryKiB: 2 ** 30 }),
        "STATE_TAMPERED",
      ],
      ["to other parameters", (file) => Object.assign(file.kdf, { memoryKiB: 20_000 }), "WRONG_PASSPHRASE"],
      ["to another salt", (file) => Object.assign(file.kdf, { salt: "A".repeat(22) }), "WRONG_PASSPHRASE"],
      ["to a short salt", (file) => Object.assign(file.kdf, { salt: "AAAA" }), "STATE_TAMPERED"],
      ["by a later version", (file) => Object.assign(file, { format: 2 }), "STATE_NEWER_VERSION"],
      ["to format 0", (file) => Object.assign(file, { format: 0 }), "STATE_TAMPERED"],
      ["to a format in words", (file) => Object.assign(file, { format: "2" }), "STATE_TAMPERED"],
      ["to no entries", (file) => Object.assign(file, { entries: null }), "STATE_TAMPERED"],
      ["to a text for entries", (file) => Object.assign(file, { entries: "" }), "STATE_TAMPERED"],
      ["to no parameters", (file) => Object.assign(file, { kdf: null }), "STATE_TAMPERED"],
      ["to parameters in words", (file) => Object.assign(file.kdf, { passes: "2" }), "STATE_TAMPERED"],
      [
        "to a canary of a later version",
        (file) => {
          const canary = Buffer.from(file.canary, "base64url")
          file.canary = Buffer.from(canary.with(4, (canary[4] ?? 0) + 1)).toString("base64url")
        },
        "STATE_NEWER_VERSION",
      ],
      ["to no text", (file) => Object.assign(file, { canary: 1 }), "STATE_TAMPERED"],
    ]),
  )("%s opens nothing, and is not changed", async (_, edit, reason) => {
    const box = boxWith("x")
    await box.createKey(scope)
    const sealed = await box.seal(scope, "token", utf8("x"))
    change(edit)
    const before = storage.kept
    await expect(boxWith("x").open(scope, "token", sealed)).rejects.toMatchObject({ reason })
    await expect(boxWith("x").createKey(scope)).rejects.toMatchObject({ reason })
    expect(storage.kept).toBe(before)
  })

  test.runIf(isLong)("by swapping the keys of scopes is detected", async () => {
    const box = boxWith("x")
    const eve = { ...scope, user: "eve" }
    await box.createKey(scope)
    await box.createKey(eve)
    change((file) => {
      const { entries } = Object(file)
      entries[scopeText(scope)] = entries[scopeText(eve)]
    })
    await expect(boxWith("x").seal(scope, "token", utf8("x"))).rejects.toMatchObject({ reason: "WRONG_USER" })
  })
})

test.each(["null", '"text"', "5", "[]", "{"])("a file that is %s is none", async (text) => {
  storage.kept = { revision: "9", bytes: utf8(text) }
  await expect(boxWith("x").seal(scope, "token", utf8("x"))).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
  expect(textOf(storage.kept.bytes)).toBe(text)
})

test("nothing is written to destroy keys that do not exist", async () => {
  const prompts: boolean[] = []
  const passphrase = async (isNew: boolean) => {
    prompts.push(isNew)
    return "x"
  }
  const box = createPassphraseBox({ storage, lock, passphrase, parameters })
  await box.destroy(scope)
  expect([prompts, storage.kept]).toEqual([[], undefined])
  await box.createKey(scope)
  const before = storage.kept
  await box.destroy({ ...scope, user: "eve" })
  expect(storage.kept).toBe(before)
})
