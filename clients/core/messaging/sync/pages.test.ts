import { expect, test } from "vitest"
import { allPages } from "./pages.ts"

test("a list is read to its end", async () => {
  const list = allPages(async (token) => ({ items: [token], nextPageToken: token.length < 3 ? `${token}x` : "" }))
  expect(await list).toEqual(["", "x", "xx", "xxx"])
})

test("a page of more than any list has is refused", async () => {
  const list = allPages(async () => ({ items: Array.from({ length: 200_000 }, () => 1), nextPageToken: "" }))
  await expect(list).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})

test("a list that never ends is refused", async () => {
  const list = allPages(async () => ({ items: [1], nextPageToken: "again" }))
  await expect(list).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
})
