import { expect, test } from "vitest"
import { createObservableValue } from "./observable-value.ts"

const letters = () => createObservableValue<{ is: string }>({ is: "a" })

test("a listener gets the current value first, then every change", async () => {
  const changes = letters()
  const heard: string[] = []
  const end = changes.subscribe(({ is }) => heard.push(is))
  changes.set({ is: "b" })
  end()
  changes.set({ is: "c" })
  expect([heard, changes.current.is]).toEqual([["a", "b"], "c"])
})

test("a slow iteration misses no change, and ends on close", async () => {
  const changes = letters()
  const iterator = changes.iterate()
  changes.set({ is: "b" })
  changes.set({ is: "c" })
  const seen: string[] = []
  const all = (async () => {
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) seen.push(next.value.is)
  })()
  await new Promise((resolve) => setImmediate(resolve))
  changes.set({ is: "d" })
  await new Promise((resolve) => setImmediate(resolve))
  changes.close()
  await all
  expect(seen).toEqual(["a", "b", "c", "d"])
})

test("a returned iteration gets no more changes", async () => {
  const changes = letters()
  const iterator = changes.iterate()
  await iterator.return?.()
  changes.set({ is: "b" })
  expect(await iterator.next()).toEqual({ done: true, value: undefined })
})

test("a listener may unsubscribe or subscribe another without affecting others", () => {
  const changes = letters()
  const heard: string[] = []
  let end = () => {}
  end = changes.subscribe(() => end())
  changes.subscribe(({ is }) => {
    heard.push(is)
    if (is === "b") changes.subscribe((value) => heard.push(`again ${value.is}`))
  })
  changes.set({ is: "b" })
  expect(heard).toEqual(["a", "b", "again b"])
})

test("the same value again is no change, and after the end nothing changes", () => {
  const changes = createObservableValue("a")
  const heard: string[] = []
  changes.subscribe((value) => heard.push(value))
  changes.set("a")
  changes.set("b")
  changes.set("b")
  changes.close()
  changes.set("c")
  changes.subscribe((value) => heard.push(`late ${value}`))
  changes.set("d")
  expect([heard, changes.current]).toEqual([["a", "b", "late b"], "b"])
})
