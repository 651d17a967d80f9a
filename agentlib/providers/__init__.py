"""Real models behind the same loop, each optional, imported by name: `from agentlib.providers import openai`.

Every module here has the same two functions:

client(**options)
    Makes what is asked. A key comes from the environment, never from an argument. Raises ProviderError, with
    what to do, if the package or the key is missing.
model(client, name, tools, *, system="", **settings)
    Gives a function `model(history) -> reply` for `run_agent`. name: the provider's name of the model.
    tools: as for `run_agent`. system: what the model reads before the history; "" = nothing.
    settings: passed on with each request, such as a temperature. Raises TypeError or ValueError at once for
    what a programmer got wrong, such as a tool that the provider would refuse. The function raises
    ProviderError when a call fails: the run then ends with "model error". It raises nothing for what a model
    got wrong: that is a request with a "problem", which the loop does not run and tells the model.
    The function has a method `call(history, request)` too, so that a closing call offers no tools.

and three that need neither a client nor a network: messages_from(history) and tools_from(tools) give them in
the provider's shape, reply_from(body) gives a reply in ours, out of the provider's response as a plain dict.

One API is one `Adapter`; the module's functions are those of the adapter that it speaks by itself. The module
`openai` has a second one: model(..., api="responses").

What a model has said stands beside its reply, as it came: "raw", with the name of the API and its items. It
goes back so to that API, in its order, with signatures, unknown fields and ids, as long as the reply still
says the same; only what the provider itself would refuse is mended.

Half an answer is never the answer: one that was cut off by the output limit, was stopped by the provider's
filter, or ended for a reason that is not known, is a failed call. The error keeps the text and the usage. A
refusal in the model's own words is its answer, with "refused": True beside it.

A reply's "usage" is the same for all: input_tokens (all that was read, from a cache or not), cached_tokens
(the part of it that came from a cache), cache_write_tokens (the part that was put into one) and output_tokens
(written).

`retrying(model)` makes a model that is asked again after a failure that another try may mend.
"""

from agentlib.providers._retrying import retrying

__all__ = ["retrying"]
