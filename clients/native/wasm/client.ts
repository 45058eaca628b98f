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
import { IdentityService } from "@signet/proto/client/v1/identity_service"
import { MessengerService } from "@signet/proto/client/v1/messenger_service"
import type { Core } from "./core.ts"

type Calls<Service extends DescService> = {
  readonly [Name in keyof Service["method"]]: (
    request?: MessageInitShape<Service["method"][Name]["input"]>,
  ) => Promise<MessageShape<Service["method"][Name]["output"]>>
}

export interface CoreClient {
  readonly identity: Calls<typeof IdentityService>
  readonly messenger: Calls<typeof MessengerService>
}

/** The two services as functions. They throw CoreError. */
export const clientOf = (core: Pick<Core, "call">): CoreClient => ({
  identity: callsOf(core, IdentityService),
  messenger: callsOf(core, MessengerService),
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
