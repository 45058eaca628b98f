import type { DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf"

/** One function for each method of a service. */
export type Handlers<Methods extends Readonly<Record<string, Pick<DescMethod, "input" | "output">>>> = {
  readonly [Name in keyof Methods]: (
    request: MessageShape<Methods[Name]["input"]>,
  ) => Promise<MessageInitShape<Methods[Name]["output"]>>
}
