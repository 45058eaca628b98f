// What the contract's enums are called in the kernel. Validation has refused unknown numbers before.
import type { DescEnum } from "@bufbuild/protobuf"
import { Refused } from "@signet/kernel/errors"
import type { Platform, Provider } from "@signet/kernel/records"
import { PlatformSchema, ProviderSchema } from "@signet/proto/auth/v1/records"

const providers: readonly Provider[] = ["IDP_A", "IDP_B", "IDP_C"]
const platforms: readonly Platform[] = ["ANDROID", "IOS", "WEB"]

function named<Name extends string>(desc: DescEnum, names: readonly Name[], number: number, field: string): Name {
  const name = names.find((candidate) => candidate === desc.value[number]?.name)
  if (name === undefined) throw new Refused("INVALID_FIELD", { metadata: { field } })
  return name
}

export const providerOf = (number: number): Provider => named(ProviderSchema, providers, number, "provider")
export const platformOf = (number: number): Platform => named(PlatformSchema, platforms, number, "platform")
