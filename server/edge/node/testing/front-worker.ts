// The tested front on workerd.
import { join } from "node:path"
import { buildWorker } from "../build.ts"
import { startWorkerd } from "../workerd.ts"

const entry = join(import.meta.dirname, "../../worker/testing/front/worker.ts")

interface Seen {
  readonly reached: string[]
  readonly faults: number
}

export async function startFrontWorker() {
  const { code } = await buildWorker(entry)
  const worker = await startWorkerd({ code, isBare: true })
  return {
    url: worker.url,
    close: worker.close,
    async seen(): Promise<Seen> {
      const response = await fetch(`${worker.url}/seen`)
      return (await response.json()) as Seen
    },
  }
}
