// Services with arbitrary requirements, built at run time. Those of the contract are all valid.
import {
  create,
  createFileRegistry,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  setExtension,
  toBinary,
} from "@bufbuild/protobuf"
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  MethodOptionsSchema,
} from "@bufbuild/protobuf/wkt"
import { AuthRequirementSchema, requires } from "@signet/proto/authz/v1/requirement"

export type Requires = Extract<MessageInitShape<typeof AuthRequirementSchema>, { $typeName?: never }>

const { STRING, INT32, MESSAGE } = FieldDescriptorProto_Type
const { OPTIONAL, REPEATED } = FieldDescriptorProto_Label

/**
 * A service with one method per requirement: `M0`, `M1`, and so on. Its request has the fields `tenant_id`, `note.id`,
 * `count` (a number) and `many` (a list).
 */
export function serviceWith(
  requirements: readonly (Requires | undefined)[],
  streaming: { client?: boolean; server?: boolean } = {},
): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: "test.proto",
    package: "test",
    syntax: "proto3",
    messageType: [
      {
        name: "Request",
        field: [
          { name: "tenant_id", number: 1, type: STRING, label: OPTIONAL },
          { name: "note", number: 2, type: MESSAGE, label: OPTIONAL, typeName: ".test.Note" },
          { name: "count", number: 3, type: INT32, label: OPTIONAL },
          { name: "many", number: 4, type: STRING, label: REPEATED },
        ],
      },
      { name: "Note", field: [{ name: "id", number: 1, type: STRING, label: OPTIONAL }] },
      { name: "Response" },
    ],
    service: [
      {
        name: "TestService",
        method: requirements.map((requirement, i) => {
          const options = create(MethodOptionsSchema)
          if (requirement !== undefined) setExtension(options, requires, create(AuthRequirementSchema, requirement))
          return {
            name: `M${i}`,
            inputType: ".test.Request",
            outputType: ".test.Response",
            clientStreaming: streaming.client ?? false,
            serverStreaming: streaming.server ?? false,
            options,
          }
        }),
      },
    ],
  })
  // Parsed from the wire, so that the option is an unknown field of the options as in generated code.
  const wire = fromBinary(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, file))
  const service = createFileRegistry(wire, () => undefined).getService("test.TestService")
  if (service === undefined) throw new Error("no service")
  return service
}

export function methodWith(
  requirement: Requires | undefined,
  streaming?: { client?: boolean; server?: boolean },
): DescMethod {
  const [method] = serviceWith([requirement], streaming).methods
  if (method === undefined) throw new Error("no method")
  return method
}

export function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary"
}

export function isServerStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming"
}
