import { expect, test } from "vitest"
import { scripted } from "../testing/scripted.ts"
import { bindRecords } from "./bind-records.ts"

test("records are bound once: a later start reads none of them, because an unbound one was restored", async () => {
  const { conversation, write } = await scripted({})
  await write()
  const read: string[] = []
  let marks = { bindsRecords: false }
  const context = {
    store: { ...conversation.store, spaces: async () => [conversation.id] },
    conversation: (id: string) => {
      read.push(id)
      return conversation
    },
    device: {
      ...conversation.device,
      get marks() {
        return marks
      },
      mark: async (more: Partial<typeof marks>) => {
        marks = { ...marks, ...more }
      },
    },
  } as Parameters<typeof bindRecords>[0]
  await bindRecords(context)
  expect([read, marks.bindsRecords]).toEqual([[conversation.id], true])
  await bindRecords(context)
  expect(read).toHaveLength(1)
})
