"""Compares the shipped stubs with the contract. Usage: check_stubs.py FileDescriptorSet"""
import sys

from google.protobuf import descriptor_pb2
from signet.authz.v1 import context_pb2, denial_pb2, reason_pb2, requirement_pb2

with open(sys.argv[1], "rb") as image:
    files = {file.name: file for file in descriptor_pb2.FileDescriptorSet.FromString(image.read()).file}


def essence(file):
    """Without comments and without names for other languages' code, which change nothing here."""
    for name in ("options", "source_code_info"):
        file.ClearField(name)
    for field in [*file.extension, *(field for message in file.message_type for field in message.field)]:
        field.ClearField("json_name")
    return file


for stub in (context_pb2, denial_pb2, reason_pb2, requirement_pb2):
    shipped = descriptor_pb2.FileDescriptorProto()
    stub.DESCRIPTOR.CopyToProto(shipped)
    contract = files[shipped.name]
    if stub is reason_pb2:
        # A reason that is new in the contract is none that this guard sends.
        known = set(reason_pb2.Reason.keys())
        values = [value for value in contract.enum_type[0].value if value.name in known]
        del contract.enum_type[0].value[:]
        contract.enum_type[0].value.extend(values)
    if essence(shipped) != essence(contract):
        sys.exit(f"{shipped.name}: the stub is not the contract's; npx node test/interop/python/guard-stubs.ts writes it")
