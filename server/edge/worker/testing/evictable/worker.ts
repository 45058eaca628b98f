// The deployed Worker with a call that evicts an object from memory, as the platform may at any time.
import { env } from "cloudflare:workers"
import { ConversationObject as DeployedConversation, DeviceObject as DeployedDevice } from "../../objects.ts"
import worker from "../../worker.ts"

export * from "../../objects.ts"

export class ConversationObject extends DeployedConversation {
  evict(): void {
    this.ctx.abort("evicted")
  }
}

export class DeviceObject extends DeployedDevice {
  evict(): void {
    this.ctx.abort("evicted")
  }
}

interface Evictable {
  getByName(name: string): { evict(): Promise<void> }
}

/** POST /evict/CONVERSATIONS/cnv_… */
async function evict(path: string): Promise<Response> {
  const [, , kind = "", name = ""] = path.split("/")
  const found: Readonly<Record<string, Evictable | undefined>> = {
    CONVERSATIONS: env.CONVERSATIONS as unknown as Evictable,
    DEVICES: env.DEVICES as unknown as Evictable,
  }
  // Concurrent callers of the object get an error.
  await found[kind]
    ?.getByName(name)
    .evict()
    .catch(() => undefined)
  return new Response()
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    return pathname.startsWith("/evict/") ? evict(pathname) : worker.fetch(request)
  },
}
