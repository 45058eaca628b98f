// Typed calls of the core.
import {
  create,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import { BackupService } from "@signet/proto/client/v1/backup_service"
import { HistoryService } from "@signet/proto/client/v1/history_service"
import { IdentityService } from "@signet/proto/client/v1/identity_service"
import { MessengerService } from "@signet/proto/client/v1/messenger_service"
import { PeekService } from "@signet/proto/client/v1/peek_service"
import { PushEndpointService } from "@signet/proto/client/v1/push_endpoint_service"
import type { Core } from "./core.ts"

type Calls<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]: (
    request?: MessageInitShape<Service["method"][Name]["input"]>,
  ) => Promise<MessageShape<Service["method"][Name]["output"]>>
}

export interface CoreClient {
  readonly identity: Calls<typeof IdentityService>
  readonly messenger: Calls<typeof MessengerService>
  readonly backup: Calls<typeof BackupService>
  readonly history: Calls<typeof HistoryService>
  readonly pushEndpoint: Calls<typeof PushEndpointService>
  readonly peek: Calls<typeof PeekService>
}

/** The services as functions. They throw CoreError. */
export const clientOf = (core: Pick<Core, "call">): CoreClient => ({
  identity: callsOf(core, IdentityService),
  messenger: callsOf(core, MessengerService),
  backup: callsOf(core, BackupService),
  history: callsOf(core, HistoryService),
  pushEndpoint: callsOf(core, PushEndpointService),
  peek: callsOf(core, PeekService),
})

function callsOf<Service extends DescService>(core: Pick<Core, "call">, service: Service): Calls<Service> {
  const prefix = service.typeName.slice(service.typeName.lastIndexOf(".") + 1)
  const call =
    ({ name, input, output }: Pick<DescMethodUnary, "name" | "input" | "output">) =>
    async (request: MessageInitShape<typeof input> = {}) =>
      fromBinary(output, await core.call(`${prefix}/${name}`, toBinary(input, create(input, request))))
  // The descriptor has each method under its name; the compiler does not follow the mapping.
  return Object.fromEntries(service.methods.map((method) => [method.localName, call(method)])) as Calls<Service>
}
