import { Code } from "@connectrpc/connect"
import { expect, test } from "vitest"
import { boundedFetch } from "./bounded.ts"

const mib = 1_024 * 1_024

/** A service whose answer has this size. */
function answering(mebibytes: number, contentType: string) {
  let left = mebibytes
  const body = () =>
    new ReadableStream({
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(mib))
        else controller.close()
      },
    })
  const headers = { "content-type": contentType }
  const send = boundedFetch(async () => new Response(body(), { status: 200, headers }))
  return { read: async () => (await send("https://messages.example")).arrayBuffer(), left: () => left }
}

test("an answer is read unchanged", async () => {
  expect((await answering(5, "application/proto").read()).byteLength).toBe(5 * mib)
})

test("an oversized answer is aborted", async () => {
  const { read, left } = answering(1_000, "application/proto")
  await expect(read()).rejects.toMatchObject({ code: Code.ResourceExhausted })
  expect(left()).toBeGreaterThan(900)
})

test("a stream is unlimited", async () => {
  expect((await answering(40, "application/connect+proto").read()).byteLength).toBe(40 * mib)
})
