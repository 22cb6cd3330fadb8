#!/usr/bin/env python3
"""Makes tests/training/data/{losses,advantages,adamw,schedules}.json: what torch's autograd, torch's AdamW,
transformers' schedules and TRL's own loss function say.

  make_loss_golden.py [DIRECTORY]     needs torch, transformers and trl (made with 2.15.0, 5.24.0, 1.16.0)

The losses are written with masks and autograd, as slime writes them; the product keeps trained tokens only
and has the derivatives written out. Where TRL has the same loss, GRPOTrainer._compute_loss is called itself.
"""
import collections
import json
import pathlib
import sys
import types

import torch
from transformers import optimization
from trl import GRPOTrainer

ROOT = pathlib.Path(__file__).resolve().parents[2]
LENGTHS = [5, 1, 7, 3, 0, 4]  # trained tokens; a response of 7 with a mask, the fifth is removed
ADVANTAGES = [1.25, -0.5, -1.75, 0.625, 2.0, 0.0]
WIDTH = 7
DEFAULTS = dict(eps_clip=0.2, eps_clip_high=None, eps_clip_c=None, use_kl_loss=False, kl_loss_coef=0.0, kl_loss_type="k1",
                use_unbiased_kl=False, entropy_coef=0.0, calculate_per_token_loss=False, use_tis=False, tis_clip=2.0,
                tis_clip_low=0.0, old="pass", trl=False)
CASES = {
    "clip": dict(trl=True),
    "clip_higher": dict(eps_clip_high=0.28, trl=True),
    "clip_per_token": dict(eps_clip_high=0.28, calculate_per_token_loss=True, trl=True),
    "dual_clip": dict(eps_clip_c=1.5, trl=True),
    "ratio_one": dict(old="current", trl=True),
    "rollout_as_old": dict(old="rollout"),
    "tis": dict(use_tis=True, tis_clip=1.1, trl=True),
    "tis_two_bounds": dict(use_tis=True, tis_clip=1.1, tis_clip_low=0.9, calculate_per_token_loss=True),
    "kl_k1": dict(use_kl_loss=True, kl_loss_coef=0.1),
    "kl_k2": dict(use_kl_loss=True, kl_loss_coef=0.1, kl_loss_type="k2"),
    "kl_k3": dict(use_kl_loss=True, kl_loss_coef=0.1, kl_loss_type="k3", trl=True),
    "kl_k3_unbiased": dict(use_kl_loss=True, kl_loss_coef=0.1, kl_loss_type="k3", use_unbiased_kl=True, trl=True),
    "kl_low_var": dict(use_kl_loss=True, kl_loss_coef=0.1, kl_loss_type="low_var_kl"),
    "kl_low_var_unbiased": dict(use_kl_loss=True, kl_loss_coef=0.1, kl_loss_type="low_var_kl", use_unbiased_kl=True),
    "kl_reported_only": dict(use_kl_loss=True, kl_loss_type="k2"),
    "entropy": dict(entropy_coef=0.05),
    "everything": dict(eps_clip_high=0.28, eps_clip_c=2.0, use_kl_loss=True, kl_loss_coef=0.2, kl_loss_type="k2",
                       use_unbiased_kl=True, entropy_coef=0.01, use_tis=True, tis_clip=1.2, calculate_per_token_loss=True),
}


def make_tokens(generator):
    """Masked responses as float32 values, so that C++ reads the same numbers."""
    def values(low, high):
        return (low + (high - low) * torch.rand(len(LENGTHS), WIDTH, generator=generator)).float().double()
    log_probs = values(-3.0, -0.05)
    mask = torch.zeros(len(LENGTHS), WIDTH, dtype=torch.float64)
    for row, length in enumerate(LENGTHS):
        mask[row, torch.randperm(WIDTH, generator=generator)[:length]] = 1
    tokens = dict(log_probs=log_probs, old=(log_probs + values(-0.6, 0.6)).float().double(),
                  rollout=(log_probs + values(-0.3, 0.3)).float().double(),
                  reference=(log_probs + values(-1.0, 1.0)).float().double(), entropies=values(0.0, 2.5), mask=mask)
    tokens["reference"][0, 0] = tokens["log_probs"][0, 0] + 4  # beyond low_var_kl's clamp: exp(4) - 5
    tokens["mask"][0, 0] = 1
    tokens["mask"][0, (tokens["mask"][0] * torch.arange(WIDTH)).argmax()] = 0
    return tokens


def reducer(mask, case):
    if case["calculate_per_token_loss"]:
        return lambda x: (x * mask).sum() / mask.sum(-1).clamp(min=1).sum()
    return lambda x: ((x * mask).sum(-1) / mask.sum(-1).clamp(min=1)).mean()


def kl_of(log_probs, reference, ratio, case):
    d = log_probs - reference
    kl = {"k1": d, "k2": d * d / 2}.get(case["kl_loss_type"], torch.exp(-d) - 1 + d)
    if case["use_unbiased_kl"]:
        kl = kl * ratio
    return kl.clamp(-10, 10) if case["kl_loss_type"] == "low_var_kl" else kl


def old_of(tokens, log_probs, case):
    return {"pass": tokens["old"], "current": log_probs.detach(), "rollout": tokens["rollout"]}[case["old"]]


def policy_loss(tokens, case):
    log_probs = tokens["log_probs"].clone().requires_grad_()
    entropies = tokens["entropies"].clone().requires_grad_()
    advantages = torch.tensor(ADVANTAGES, dtype=torch.float64)[:, None]
    mean = reducer(tokens["mask"], case)
    old = old_of(tokens, log_probs, case)
    trainer = log_probs.detach() if case["old"] != "pass" else tokens["old"]
    ratio = (log_probs - old).exp()
    high = case["eps_clip"] if case["eps_clip_high"] is None else case["eps_clip_high"]
    free, bounded = -ratio * advantages, -ratio.clamp(1 - case["eps_clip"], 1 + high) * advantages
    loss = torch.maximum(free, bounded)
    if case["eps_clip_c"] is not None:
        loss = torch.where(advantages < 0, torch.minimum(-case["eps_clip_c"] * advantages, loss), loss)
    metrics = {"pg_clipfrac": mean((bounded > free).double()), "ppo_kl": mean(old - log_probs), "ois": mean(ratio),
               "train_rollout_logprob_abs_diff": mean((trainer - tokens["rollout"]).abs())}
    if case["use_tis"]:
        raw = (trainer - tokens["rollout"]).exp()
        weight = raw.clamp(case["tis_clip_low"], case["tis_clip"])
        metrics |= {"tis": mean(raw), "tis_abs": mean((raw - 1).abs()), "tis_clipfrac": mean((weight != raw).double())}
        loss = loss * weight
    total = metrics["pg_loss"] = mean(loss)
    metrics["entropy_loss"] = mean(entropies)
    total = total - case["entropy_coef"] * metrics["entropy_loss"]
    if case["use_kl_loss"]:
        metrics["kl_loss"] = mean(kl_of(log_probs, tokens["reference"], ratio, case))
        total = total + case["kl_loss_coef"] * metrics["kl_loss"]
    metrics["loss"] = total
    total.backward()
    if case["entropy_coef"] == 0:
        entropies.grad = torch.zeros_like(entropies)
    return metrics, log_probs.grad, entropies.grad


class OneProcess:
    """The part of accelerate's interface that the loss function asks for."""
    num_processes = 1
    sync_gradients = True

    def gather(self, value):
        return value

    def reduce(self, value, reduction):
        return value


def trl_loss(tokens, case):
    """GRPOTrainer._compute_loss on the same tokens; samples without tokens are left out, TRL divides by their length."""
    rows = [i for i, length in enumerate(LENGTHS) if length > 0]
    pick = lambda x: x[rows]
    log_probs = tokens["log_probs"].clone().requires_grad_()
    old = old_of(tokens, log_probs, case)
    trainer = types.SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *a, **k: (pick(log_probs), pick(tokens["entropies"]), None),
        aux_loss_enabled=False, top_entropy_quantile=1.0, off_policy_mask_threshold=None, importance_sampling_level="token",
        beta=case["kl_loss_coef"], args=types.SimpleNamespace(use_bias_correction_kl=case["use_unbiased_kl"], delta=case["eps_clip_c"]),
        loss_type="bnpo" if case["calculate_per_token_loss"] else "grpo", epsilon_low=case["eps_clip"],
        epsilon_high=case["eps_clip"] if case["eps_clip_high"] is None else case["eps_clip_high"],
        use_vllm=case["use_tis"], vllm_importance_sampling_correction=True, model=types.SimpleNamespace(training=True),
        current_gradient_accumulation_steps=1, _entropy_bonus_enabled=False, accelerator=OneProcess(),
        _metrics={"train": collections.defaultdict(list)})
    ids = torch.zeros(len(rows), WIDTH, dtype=torch.long)
    inputs = dict(prompt_ids=ids[:, :1], prompt_mask=ids[:, :1], completion_ids=ids, completion_mask=pick(tokens["mask"]),
                  advantages=torch.tensor(ADVANTAGES, dtype=torch.float64)[rows], old_per_token_logps=pick(old),
                  ref_per_token_logps=pick(tokens["reference"]),
                  importance_sampling_ratio=(pick(tokens["old"]) - pick(tokens["rollout"])).exp().clamp(max=case["tis_clip"]))
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    # The mean over samples counts the one without tokens; TRL's did not see it.
    share = 1.0 if case["calculate_per_token_loss"] else len(rows) / len(LENGTHS)
    loss = loss * share
    if case["calculate_per_token_loss"]:  # slime counts a sample without tokens as one token
        kept = tokens["mask"].sum()
        loss = loss * kept / (kept + len(LENGTHS) - len(rows))
    loss.backward()
    return loss, log_probs.grad


def kept(values, mask):
    return [v for row, m in zip(values.tolist(), mask.tolist()) for v, keep in zip(row, m) if keep]


def plain(metrics):
    return {name: float(value.detach()) for name, value in metrics.items()}


def make_losses():
    tokens = make_tokens(torch.Generator().manual_seed(7))
    mask = tokens["mask"]
    cases = []
    for name, changes in CASES.items():
        case = DEFAULTS | changes
        metrics, d_log_probs, d_entropies = policy_loss(tokens, case)
        entry = dict(name=name, options={k: v for k, v in case.items() if k not in ("old", "trl") and v is not None},
                     old=case["old"], metrics=plain(metrics), d_log_probs=kept(d_log_probs, mask),
                     d_entropies=kept(d_entropies, mask))
        if case["trl"]:
            loss, gradient = trl_loss(tokens, case)
            entry |= dict(trl_loss=float(loss.detach()), trl_d_log_probs=kept(gradient, mask))
        cases.append(entry)
    return dict(lengths=[int(n) for n in mask.sum(-1)], advantages=ADVANTAGES, cases=cases,
                tokens={k: kept(v, mask) for k, v in tokens.items() if k != "mask"}, supervised=make_supervised(tokens))


def make_supervised(tokens):
    result = {}
    for per_token in (False, True):
        log_probs = tokens["log_probs"].clone().requires_grad_()
        loss = reducer(tokens["mask"], dict(calculate_per_token_loss=per_token))(-log_probs)
        loss.backward()
        result["per_token" if per_token else "per_sample"] = dict(loss=float(loss.detach()), d_log_probs=kept(log_probs.grad, tokens["mask"]))
    return result


def make_advantages():
    """Groups of uneven size, one with equal rewards, one of a single sample; samples out of order."""
    groups = [3, 1, 3, 0, 1, 0, 3, 0, 2, 1, 0, 3]
    rewards = [1.0, 0.1, 0.0, 1.0, 0.1, 0.0, 0.5, 1.0, 0.7, 0.1, 0.0, -2.0]
    trained = [4, 2, 0, 3, 5, 1, 2, 2, 6, 3, 1, 2]
    results = []
    for centre, scale, white in [(1, 1, 0), (1, 0, 0), (0, 0, 0), (1, 1, 1), (0, 0, 1)]:
        values = torch.tensor(rewards, dtype=torch.float64)
        for group in set(groups) if centre else ():
            rows = torch.tensor([g == group for g in groups])
            members = values[rows] - values[rows].mean()
            values[rows] = members / (members.std() + 1e-6) if scale and rows.sum() > 1 else members
        if white:
            tokens = torch.repeat_interleave(values, torch.tensor(trained))
            values = (values - tokens.mean()) * torch.rsqrt(tokens.var() + 1e-8)
        results.append(dict(centre=bool(centre), scale=bool(scale), whiten=bool(white), advantages=values.tolist()))
    return dict(groups=groups, rewards=rewards, trained=trained, results=results)


def make_adamw():
    """Two tensors (a matrix with decay, a vector without) and a gap of two elements between them."""
    generator = torch.Generator().manual_seed(11)
    matrix = torch.nn.Parameter(torch.randn(3, 4, generator=generator))
    vector = torch.nn.Parameter(torch.randn(5, generator=generator))
    options = dict(lr=3e-3, weight_decay=0.1, adam_beta1=0.9, adam_beta2=0.98, adam_eps=1e-8, clip_grad=1.0)
    optimiser = torch.optim.AdamW([dict(params=[matrix], weight_decay=0.1), dict(params=[vector], weight_decay=0.0)],
                                  lr=3e-3, betas=(0.9, 0.98), eps=1e-8)
    flat = lambda a, b: [*a.flatten().tolist(), 0.0, 0.0, *b.tolist()]
    start, steps = flat(matrix.detach(), vector.detach()), []
    for step in range(8):
        matrix.grad = torch.randn(3, 4, generator=generator) * (0.02 if step % 2 else 0.8)
        vector.grad = torch.randn(5, generator=generator) * 0.1
        gradient = flat(matrix.grad, vector.grad)
        norm = torch.nn.utils.clip_grad_norm_([matrix, vector], 1.0)
        rate = 3e-3 * (1 - step / 10)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
        steps.append(dict(gradient=gradient, norm=float(norm), lr=rate, weights=flat(matrix.detach(), vector.detach())))
    return dict(options=options, ranges=[[0, 12, True], [14, 19, False]], start=start, steps=steps)


def make_schedules():
    def rates(schedule, **keywords):
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimiser = torch.optim.SGD([parameter], lr=0.01)
        scheduler = schedule(optimiser, **keywords)
        values = []
        for _ in range(26):
            values.append(scheduler.get_last_lr()[0])
            optimiser.step()
            scheduler.step()
        return values
    cosine, linear = optimization.get_cosine_schedule_with_warmup, optimization.get_linear_schedule_with_warmup
    warm = dict(num_warmup_steps=6, num_training_steps=20)
    cold = dict(num_warmup_steps=0, num_training_steps=20)
    return [
        dict(style="linear", warmup=6, min_lr=0.0, rates=rates(linear, **warm)),
        dict(style="linear", warmup=0, min_lr=0.0, rates=rates(linear, **cold)),
        dict(style="cosine", warmup=6, min_lr=0.0, rates=rates(cosine, **warm)[:21]),
        dict(style="cosine", warmup=0, min_lr=0.0, rates=rates(cosine, **cold)[:21]),
        dict(style="cosine", warmup=6, min_lr=0.001,
             rates=rates(optimization.get_cosine_with_min_lr_schedule_with_warmup, min_lr=0.001, **warm)[:21]),
        dict(style="constant", warmup=6, min_lr=0.0, rates=rates(optimization.get_constant_schedule_with_warmup, num_warmup_steps=6)),
    ]


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/training/data"
    directory.mkdir(parents=True, exist_ok=True)
    for name, make in dict(losses=make_losses, advantages=make_advantages, adamw=make_adamw, schedules=make_schedules).items():
        (directory / f"{name}.json").write_text(json.dumps(make(), separators=(",", ":")) + "\n")


main()
