"""Conversations that template_parity.py renders: what a chat API can send, and a little more."""

WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Get the current weather of a city",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "The city's name, e.g. \"Köln\""},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
        "days": {"type": "integer", "description": "How many days"}},
        "required": ["city"]},
    "return": {"type": "number"}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Search <the> 'web' & more\nover two lines",
    "parameters": {"type": "object", "properties": {
        "query": {"type": "string", "description": "words"},
        "filters": {"type": "object", "properties": {
            "lang": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}},
        "limits": {"type": "array", "items": {"type": "integer"}},
        "exact": {"type": "boolean"}, "score": {"type": "number"},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["query", "filters"]}}}
EMPTY = {"type": "function", "function": {
    "name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}}
TOOLS = [WEATHER, SEARCH, EMPTY]


def user(content): return {"role": "user", "content": content}
def system(content): return {"role": "system", "content": content}
def assistant(content, **more): return {"role": "assistant", "content": content, **more}
def tool(content, **more): return {"role": "tool", "content": content, **more}


def call(name, arguments, ident="call00001"):
    return {"type": "function", "id": ident, "function": {"name": name, "arguments": arguments}}


def conversations():
    """Pairs of a name and the keyword arguments of apply_chat_template, with `messages`."""
    hi = [user("Hi")]
    turns = [user("Hi"), assistant("Hello! How can I help?"), user("2+2?")]
    called = [user("Weather in Köln?"),
              assistant("", tool_calls=[call("get_weather", {"city": "Köln", "days": 2})]),
              tool("{\"temp\": 21.5}", name="get_weather", tool_call_id="call00001")]
    cases = {
        "one": dict(messages=hi),
        "one prompt": dict(messages=hi, prompt=True),
        "system": dict(messages=[system("Be brief.")] + hi, prompt=True),
        "system only": dict(messages=[system("Be brief.")]),
        "system spaces": dict(messages=[system("  Be brief. \n\n")] + hi, prompt=True),
        "developer": dict(messages=[{"role": "developer", "content": "Rules."}] + hi, prompt=True),
        "two": dict(messages=turns[:2]),
        "three prompt": dict(messages=turns, prompt=True),
        "four": dict(messages=turns + [assistant("4")]),
        "system turns": dict(messages=[system("S")] + turns + [assistant("4"), user("Thanks")], prompt=True),
        "long": dict(messages=[m for i in range(10) for m in (user(f"Q{i}"), assistant(f"A{i}"))]),
        "empty content": dict(messages=[user(""), assistant(""), user("")], prompt=True),
        "white content": dict(messages=[user("  \n x \n"), assistant("\n\n y  "), user("\tz")], prompt=True),
        "unicode": dict(messages=[user("Grüße, 世界! 👩‍👩‍👧 Ǆ ß ı İ \u00a0 \u2028 é"), assistant("Привет\u200b مرحبا")]),
        "markup": dict(messages=[user("<b>&amp; \"q\" 'q' \\n {{ x }} {% if %} %s {0}"), assistant("`a` <|im_end|> </s> [INST]")]),
        "think": dict(messages=[user("Q"), assistant("<think>\nlong thought\n</think>\n\nA"), user("Q2"),
                                assistant("<think>more</think>B")]),
        "think open": dict(messages=[user("Q"), assistant("thought</think>A"), user("Q2")], prompt=True),
        "reasoning": dict(messages=[user("Q"), assistant("A", reasoning_content="because"), user("Q2"),
                                    assistant("B", reasoning_content="\nand so\n")]),
        "reasoning prompt": dict(messages=[user("Q"), assistant("A", reasoning="because"), user("Q2")], prompt=True),
        "thinking on": dict(messages=turns, prompt=True, arguments=dict(enable_thinking=True, thinking=True)),
        "thinking off": dict(messages=turns, prompt=True, arguments=dict(enable_thinking=False, thinking=False)),
        "effort": dict(messages=[system("S")] + turns, prompt=True, arguments=dict(
            reasoning_effort="high", thinking_budget=512, builtin_tools=["python", "browser"], model_identity="M")),
        "tools": dict(messages=hi, tools=TOOLS, prompt=True),
        "tools system": dict(messages=[system("S")] + turns, tools=[WEATHER], prompt=True),
        "tools none": dict(messages=hi, tools=[], prompt=True),
        "call": dict(messages=called[:2], tools=TOOLS),
        "result": dict(messages=called, tools=TOOLS, prompt=True),
        "answer": dict(messages=called + [assistant("21.5 °C")], tools=TOOLS),
        "answer then": dict(messages=[system("S")] + called + [assistant("21.5 °C"), user("And Bonn?")],
                            tools=TOOLS, prompt=True),
        "two calls": dict(messages=[user("Both"), assistant("Let me see.", tool_calls=[
            call("get_weather", {"city": "A"}, "call00001"), call("search", {"query": "b \"c\"", "filters": {
                "lang": "de", "tags": ["x", "ü"]}, "limits": [1, 2], "exact": True, "score": 1.5, "either": None},
                "call00002")]),
            tool("one", name="get_weather", tool_call_id="call00001"),
            tool("two", name="search", tool_call_id="call00002"), assistant("Done")], tools=TOOLS),
        "call text": dict(messages=[user("X"), assistant("", tool_calls=[call("now", "{\"a\": 1}")]),
                                    tool("t", name="now", tool_call_id="call00001")], tools=TOOLS, prompt=True),
        "call null content": dict(messages=[user("X"), assistant(None, tool_calls=[call("now", {})]),
                                            tool("t", name="now", tool_call_id="call00001")], tools=TOOLS),
        "call thought": dict(messages=[user("X"), assistant("", reasoning_content="need it",
                                                            tool_calls=[call("now", {})]),
                                       tool("t", name="now", tool_call_id="call00001"),
                                       assistant("It is t", reasoning_content="got it")], tools=TOOLS),
        "calls in a row": dict(messages=called + [
            assistant("", tool_calls=[call("now", {}, "call00002")]),
            tool("noon", name="now", tool_call_id="call00002")], tools=TOOLS, prompt=True),
        "call without type": dict(messages=[user("X"), assistant("", tool_calls=[
            {"id": "123456789", "function": {"name": "now", "arguments": {}}}]),
            tool("t", tool_call_id="123456789")], tools=[EMPTY], prompt=True),
        "bare call": dict(messages=[user("X"), assistant("", tool_calls=[
            {"name": "now", "arguments": {"deep": {"a": [1, [2, {"b": None}]]}}}]), tool("t")],
            tools=[EMPTY], prompt=True),
        "tool of mapping": dict(messages=called[:2] + [tool({"temp": 21.5, "ok": True, "n": None, "l": []},
                                                            name="get_weather", tool_call_id="call00001")],
                                tools=[WEATHER], prompt=True),
        "ipython": dict(messages=[user("X"), assistant("code"), {"role": "ipython", "content": "out"}], prompt=True),
        "parts": dict(messages=[user([{"type": "text", "text": "Look"}, {"type": "text", "text": " here "}]),
                                assistant([{"type": "text", "text": "ok"}]), user("And?")], prompt=True),
        "image": dict(messages=[user([{"type": "image"}, {"type": "text", "text": "What is it?"}])], prompt=True),
        "system parts": dict(messages=[system([{"type": "text", "text": "S"}])] + hi, prompt=True),
        "assistant first": dict(messages=[assistant("Welcome"), user("Hi")], prompt=True),
        "two users": dict(messages=[user("A"), user("B")], prompt=True),
        "two assistants": dict(messages=[user("A"), assistant("B"), assistant("C")]),
        "late system": dict(messages=turns + [system("Now in French"), user("?")], prompt=True),
        "unknown role": dict(messages=[user("A"), {"role": "critic", "content": "B"}], prompt=True),
        "no content": dict(messages=[{"role": "user"}], prompt=True),
        "no role": dict(messages=[{"content": "x"}]),
        "number content": dict(messages=[user(5), assistant(1.5), user(True)], prompt=True),
        "named": dict(messages=[{"role": "user", "name": "Ann", "content": "A"}, assistant("B", name="Bot")]),
        "documents": dict(messages=hi, prompt=True, arguments=dict(documents=[
            {"title": "T1", "text": "Text one"}, {"title": "T2", "text": "Text\ntwo", "doc_id": "7"}])),
        "kwargs": dict(messages=turns, tools=[WEATHER], prompt=True, arguments=dict(
            date_string="01 Jan 2025", tools_in_user_message=False, custom_tools=[SEARCH], xml_tools=[EMPTY],
            python_tools=["f"], add_vision_id=True, keep_all_reasoning=True, clear_thinking=False)),
        "date": dict(messages=[system("Today")] + hi, prompt=True, arguments=dict(current_date="2025-01-01")),
        "numbers": dict(messages=[user("X"), assistant("", tool_calls=[call("search", {
            "a": 0, "b": -1, "c": 1e100, "d": 1e-7, "e": 123456789012345678, "f": 0.1, "g": 1e16, "h": 3.0})])],
            tools=TOOLS),
        "control": dict(messages=[user("a\x00b\x1f\x7f\x85c\r\nd\re\x0b\x0cf")]),
        "long text": dict(messages=[user("word " * 3000), assistant("reply\n" * 2000)]),
        "prefix": dict(messages=[user("A"), assistant("B", prefix=True)]),
    }
    return list(cases.items())
