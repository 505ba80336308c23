"""What PaddleClas 2.5.2 and newer print, where it is known that it is one of those.

Read off github.com/PaddlePaddle/PaddleClas at d178931fca432204e6b7422bac4f92e09ff22fa4 (develop),
ppcls/engine/train/utils.py: `log_info` sets its means back after each line. The lines are those of
`paddle-clas`. Nothing in them tells the release, and over few short steps their stamps do not
either: so this format is read only where it is named.
"""

from dataclasses import replace

from results.formats import paddle_clas

FORMAT = replace(
    paddle_clas.FORMAT,
    name="paddle-clas-2.5.2",
    covers="since the last",
    mean_from=0,
    yields_to=(paddle_clas.FORMAT.name,),
)
