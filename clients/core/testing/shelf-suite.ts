// The contract of every store.
import { describe, expect, test } from "vitest"
import type { Shelf } from "../ports.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const textOf = async (shelf: Shelf, name: string) => {
  const kept = await shelf.read(name)
  return kept && new TextDecoder().decode(kept.bytes)
}

/** @param open Opens a new, empty store. */
export function shelfSuite(name: string, open: () => Promise<Shelf>): void {
  describe(`a shelf (${name})`, () => {
    test("is empty at first", async () => {
      const shelf = await open()
      expect(await shelf.read("a")).toBeUndefined()
      expect(await shelf.remove("a", "any")).toBe(true)
      expect(await shelf.remove("a", "r")).toBe(true)
    })

    test("returns stored bytes by name, also empty bytes and unusual names", async () => {
      const shelf = await open()
      for (const each of ["a", "a/../b", "", "ä 漢 \u0000", "x".repeat(500)]) {
        const revision = await shelf.write(each, bytes(each), undefined)
        expect(await shelf.read(each)).toEqual({ revision, bytes: bytes(each) })
      }
    })

    test("replaces only the expected revision", async () => {
      const shelf = await open()
      const first = await shelf.write("a", bytes("1"), undefined)
      expect(first).toBeTruthy()
      expect(await shelf.write("a", bytes("2"), undefined)).toBeUndefined()
      expect(await shelf.write("a", bytes("2"), "another")).toBeUndefined()
      expect(await textOf(shelf, "a")).toBe("1")
      const second = await shelf.write("a", bytes("2"), first)
      expect(second).not.toBe(first)
      expect(await shelf.write("a", bytes("3"), first)).toBeUndefined()
      expect(await shelf.write("a", bytes("3"), "any")).toBeTruthy()
      expect(await textOf(shelf, "a")).toBe("3")
    })

    test("gives equal bytes a new revision", async () => {
      const shelf = await open()
      expect(await shelf.write("a", bytes("1"), "any")).not.toBe(await shelf.write("a", bytes("1"), "any"))
    })

    test("removes only the expected revision", async () => {
      const shelf = await open()
      const revision = await shelf.write("a", bytes("1"), undefined)
      await shelf.write("b", bytes("1"), undefined)
      expect(await shelf.remove("a", "another")).toBe(false)
      expect(await textOf(shelf, "a")).toBe("1")
      expect(await shelf.remove("a", revision ?? "")).toBe(true)
      expect(await shelf.read("a")).toBeUndefined()
      expect(await textOf(shelf, "b")).toBe("1")
    })

    test("copies the caller's bytes", async () => {
      const shelf = await open()
      const given = bytes("1")
      await shelf.write("a", given, undefined)
      given.fill(0)
      expect(await textOf(shelf, "a")).toBe("1")
    })
  })
}
