"""The kernels that exploits pretend to compute."""

SYMBOLS = """
infer.format @f32 attributes {block = 1 : i64, bytes = 4 : i64, contract = "quant/f32", \
fields = ["w"], hash = "00", type_id = 0 : i64} {
^bb0(%w: vector<1xf32>):
  infer.decoded %w
}
infer.layout @rows16 {align = 64 : i64, contract = "layout/rows16", hash = "00", lanes = 16 : i64}
infer.path @path {accumulate = "f32", contract = "numeric_path/f32_rows16", fma = 1 : i64, \
hash = "00", order = "k ascending"}
"""

KERNELS = {
    "add": """
kernel.func @add(%a: tensor<?x24xf32, #infer.dims<tokens, _>>, \
%b: tensor<?x24xf32, #infer.dims<tokens, _>>) -> (y: tensor<?x24xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 40>, parts = "columns", path = @path} {
  %0 = infer.add %a, %b : tensor<?x24xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
""",
    "norm": """
kernel.func @norm(%x: tensor<?x40xf32, #infer.dims<tokens, _>>, %w: tensor<40xf32>) \
-> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 4>, parts = "tokens", path = @path} {
  %0 = infer.rms_norm %x, %w {eps = 1.0e-05 : f64} : tensor<?x40xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
""",
    "linear": """
kernel.func @linear(%x: tensor<?x64xf32, #infer.dims<tokens, _>>, \
%w: tensor<40x64xf32, @rows16>) -> (y: tensor<?x40xf32, #infer.dims<tokens, _>>) \
{dims = #infer.ranges<tokens = 1 to 20>, parts = "rows", path = @path} {
  %0 = infer.linear %x, %w : tensor<?x40xf32, #infer.dims<tokens, _>>
  kernel.return %0
}
""",
}

HONEST = {
    "add": """\
for (int32_t c = 24 * part / parts; c < 24 * (part + 1) / parts; c++)
    for (int32_t t = 0; t < tokens; t++)
        y[t * 24 + c] = a[t * 24 + c] + b[t * 24 + c];""",
    "norm": """\
for (int32_t t = tokens * part / parts; t < tokens * (part + 1) / parts; t++) {
    float sum = 0.0f;
    for (int32_t c = 0; c < 40; c++)
        sum += x[t * 40 + c] * x[t * 40 + c];
    const float scale = 1.0f / sqrtf(sum / 40 + 1e-5f);
    for (int32_t c = 0; c < 40; c++)
        y[t * 40 + c] = x[t * 40 + c] * scale * w[c];
}""",
    "linear": """\
for (int32_t r = 40 * part / parts; r < 40 * (part + 1) / parts; r++)
    for (int32_t t = 0; t < tokens; t++) {
        float sum = 0.0f;
        for (int32_t k = 0; k < 64; k++)
            sum += x[t * 64 + k] * w_w[(r / 16 * 64 + k) * 16 + r % 16];
        y[t * 40 + r] = sum;
    }""",
}
"""Correct bodies; an exploit changes one thing in them, or does one thing more."""
