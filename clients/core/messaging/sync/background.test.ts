import { expect, test } from "vitest"
import type { Reports } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import type { MessengerEvent } from "../events.ts"
import { inBackground, trying } from "./background.ts"

function listening() {
  const told: MessengerEvent[] = []
  const context: Reports = { emit: (event) => told.push(event) }
  return { told, context }
}
const failing = (error: unknown) => async () => Promise.reject(error)
const closed = new MessagingError("CLOSED", "closed")
const ended = new MessagingError("DEVICE_ENDED", "revoked")

test("a repeatable failure is reported and does not end the messenger", async () => {
  const { told, context } = listening()
  await trying(context, "cnv", failing("offline"))
  expect(told).toEqual([{ is: "failed", conversationId: "cnv", error: "offline" }])
})

test("the end of the device or the messenger is thrown", async () => {
  const { told, context } = listening()
  for (const error of [closed, ended]) await expect(trying(context, "cnv", failing(error))).rejects.toBe(error)
  expect(told).toEqual([])
})

test("background work never rejects: a closed messenger is ignored, and a revoked device is reported", async () => {
  const { told, context } = listening()
  for (const error of [closed, ended]) inBackground(context, undefined, failing(error))
  await new Promise((resolve) => setTimeout(resolve, 1))
  expect(told).toEqual([{ is: "failed", conversationId: undefined, error: ended }])
})
