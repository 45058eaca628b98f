// The contract of every store.
import { describe, expect, test } from "vitest"
import type { ByteStorage } from "../ports.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const textOf = async (storage: ByteStorage, name: string) => {
  const kept = await storage.read(name)
  return kept && new TextDecoder().decode(kept.bytes)
}

/** @param open Opens a new, empty store. */
export function storageSuite(name: string, open: () => Promise<ByteStorage>): void {
  describe(`a byte store (${name})`, () => {
    test("is empty at first", async () => {
      const storage = await open()
      expect(await storage.read("a")).toBeUndefined()
      expect(await storage.remove("a", "any")).toBe(true)
      expect(await storage.remove("a", "r")).toBe(true)
    })

    test("returns stored bytes by name, also empty bytes and unusual names", async () => {
      const storage = await open()
      for (const each of ["a", "a/../b", "", "ä 漢 \u0000", "x".repeat(500)]) {
        const revision = await storage.write(each, bytes(each), undefined)
        expect(await storage.read(each)).toEqual({ revision, bytes: bytes(each) })
      }
    })

    test("replaces only the expected revision", async () => {
      const storage = await open()
      const first = await storage.write("a", bytes("1"), undefined)
      expect(first).toBeTruthy()
      expect(await storage.write("a", bytes("2"), undefined)).toBeUndefined()
      expect(await storage.write("a", bytes("2"), "another")).toBeUndefined()
      expect(await textOf(storage, "a")).toBe("1")
      const second = await storage.write("a", bytes("2"), first)
      expect(second).not.toBe(first)
      expect(await storage.write("a", bytes("3"), first)).toBeUndefined()
      expect(await storage.write("a", bytes("3"), "any")).toBeTruthy()
      expect(await textOf(storage, "a")).toBe("3")
    })

    test("gives equal bytes a new revision", async () => {
      const storage = await open()
      expect(await storage.write("a", bytes("1"), "any")).not.toBe(await storage.write("a", bytes("1"), "any"))
    })

    test("removes only the expected revision", async () => {
      const storage = await open()
      const revision = await storage.write("a", bytes("1"), undefined)
      await storage.write("b", bytes("1"), undefined)
      expect(await storage.remove("a", "another")).toBe(false)
      expect(await textOf(storage, "a")).toBe("1")
      expect(await storage.remove("a", revision ?? "")).toBe(true)
      expect(await storage.read("a")).toBeUndefined()
      expect(await textOf(storage, "b")).toBe("1")
    })

    test("copies the caller's bytes", async () => {
      const storage = await open()
      const given = bytes("1")
      await storage.write("a", given, undefined)
      given.fill(0)
      expect(await textOf(storage, "a")).toBe("1")
    })
  })
}
